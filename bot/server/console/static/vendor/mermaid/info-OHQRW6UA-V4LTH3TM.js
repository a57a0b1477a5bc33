import{a as o,b as e}from"./chunk-TBHN472A.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{o as InfoModule,e as createInfoServices};
