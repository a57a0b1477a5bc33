import{a as r,b as e}from"./chunk-X37FGP2S.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{r as RadarModule,e as createRadarServices};
