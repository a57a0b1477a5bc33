// What a person sees and does, for either hook.
import { useState } from "react";
import { createRoot } from "react-dom/client";

export const settings = Object.fromEntries(new URLSearchParams(location.search));

// The thread's id, which stays in the page's address.
export function useThread() {
  const [threadId, setThreadId] = useState(settings.thread ?? null);
  const onThreadId = (id) => {
    const url = new URL(location.href);
    url.searchParams.set("thread", id);
    history.replaceState(null, "", url);
    setThreadId(id);
  };
  return { threadId, onThreadId };
}

function textOf({ content }) {
  if (typeof content === "string") return content;
  return content.map((block) => block.text ?? "").join("");
}

export function View({ messages, interrupts, isLoading, error, onSend, onStop, onAnswer }) {
  const [text, setText] = useState("");
  const [answers, setAnswers] = useState({});
  const send = (event) => {
    event.preventDefault();
    onSend(text);
    setText("");
  };
  return (
    <main data-loading={String(isLoading)}>
      <ol>
        {messages.map((message, index) => (
          <li key={message.id ?? index}>{textOf(message)}</li>
        ))}
      </ol>
      {interrupts.map(({ id, value }) => (
        <label key={id}>
          {value}
          <input
            className="answer"
            onChange={(event) => setAnswers((known) => ({ ...known, [id]: event.target.value }))}
          />
        </label>
      ))}
      {interrupts.length > 0 && <button id="answer" onClick={() => onAnswer(answers)}>Answer</button>}
      {error != null && <p id="error">{String(error.message ?? error)}</p>}
      <form onSubmit={send}>
        <input id="text" value={text} onChange={(event) => setText(event.target.value)} />
        <button id="send">Send</button>
      </form>
      <button id="stop" onClick={onStop}>Stop</button>
    </main>
  );
}

export function show(Page) {
  createRoot(document.getElementById("root")).render(<Page />);
}
