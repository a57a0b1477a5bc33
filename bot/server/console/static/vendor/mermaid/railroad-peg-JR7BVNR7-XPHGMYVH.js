import{a as e,b as r}from"./chunk-6MNGUM3A.js";import"./chunk-FPTW5BR6.js";import"./chunk-SQE76S5B.js";export{e as RailroadPegModule,r as createRailroadPegServices};
