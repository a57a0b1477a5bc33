import{a as r,b as o}from"./chunk-6XZ7WPYR.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{r as RailroadAbnfModule,o as createRailroadAbnfServices};
