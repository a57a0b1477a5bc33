// The component of the guide to hosting graphs, in a page.
import { useState } from "react";
import { Chat } from "guide/Chat.jsx";
import { settings, show } from "./view.jsx";

function Page() {
  const [threadId, onThreadId] = useState(null);
  return <main><Chat token={settings.key} threadId={threadId} onThreadId={onThreadId} /></main>;
}

show(Page);
