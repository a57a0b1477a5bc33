import { useStream } from "@langchain/langgraph-sdk/react";
import { settings, show, useThread, View } from "./view.jsx";

function Page() {
  const stream = useStream({
    apiUrl: settings.api,
    apiKey: settings.key,
    assistantId: settings.graph,
    ...useThread(),
    reconnectOnMount: true,
  });
  return (
    <View
      messages={stream.messages}
      interrupts={stream.interrupts}
      isLoading={stream.isLoading}
      error={stream.error}
      onSend={(content) => stream.submit({ messages: [{ type: "human", content }] }, { streamResumable: true })}
      onStop={() => stream.stop()}
      onAnswer={(answers) => stream.submit(undefined, { command: { resume: answers } })}
    />
  );
}

show(Page);
