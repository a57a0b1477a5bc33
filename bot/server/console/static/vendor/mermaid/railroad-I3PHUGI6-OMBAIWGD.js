import{a as r,b as o}from"./chunk-NDVIY4WI.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{r as RailroadModule,o as createRailroadServices};
