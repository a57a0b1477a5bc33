import{a as e,b as r}from"./chunk-QU2PKONJ.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{e as WardleyModule,r as createWardleyServices};
