import{a as e,b as r}from"./chunk-3ZXDGJ7P.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{e as CynefinModule,r as createCynefinServices};
