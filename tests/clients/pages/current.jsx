import { useStream } from "@langchain/react";
import { settings, show, useThread, View } from "./view.jsx";

function Page() {
  const stream = useStream({
    apiUrl: settings.api,
    apiKey: settings.key,
    assistantId: settings.graph,
    ...useThread(),
  });
  return (
    <View
      {...stream}
      onSend={(content) => stream.submit({ messages: [{ type: "human", content }] })}
      onStop={() => stream.stop()}
      onAnswer={(answers) => stream.respondAll(answers)}
    />
  );
}

show(Page);
