import{a as r,b as o}from"./chunk-EB5AQ5T6.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{r as RailroadEbnfModule,o as createRailroadEbnfServices};
