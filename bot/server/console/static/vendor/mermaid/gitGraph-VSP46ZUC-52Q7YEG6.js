import{a as r,b as e}from"./chunk-5I3ZDNOE.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{r as GitGraphModule,e as createGitGraphServices};
