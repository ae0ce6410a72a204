// Does with zulip-js what its users do, and says what came of it, a line of JSON each.
// node zulip_js.cjs FOLDER_OF_THE_CLIENT ADDRESS EMAIL API_KEY
const { createRequire } = require("node:module");

const [folder, realm, username, apiKey] = process.argv.slice(2);
const start = createRequire(`${folder}/`)("zulip-js");
const topic = { operator: "topic", operand: "from script" };
const place = { type: "stream", to: "everyone", topic: topic.operand };

const say = (name, answer) => console.log(JSON.stringify([name, answer]));

async function main() {
  const client = await start({ realm, username, apiKey });
  const { messages, reactions, streams, users } = client;
  const me = await users.me.getProfile();
  say("profile", me);
  say("settings", await client.server.settings());
  say("channels", await streams.retrieve());
  const { stream_id } = await streams.getStreamId("everyone");
  say("subscribed", await users.me.subscriptions.add({ subscriptions: JSON.stringify([{ name: "new" }]) }));
  say("unsubscribed", await users.me.subscriptions.remove({ subscriptions: JSON.stringify(["new"]) }));

  const sent = await messages.send({ ...place, content: "hello **script** ü" });
  const message_id = sent.id;
  say("sent", sent);
  say("direct", await messages.send({ type: "private", to: [me.email], content: "a note" }));
  say("rendered", await messages.render("**bold**"));
  say("edited", await messages.update({ message_id, content: "this & that, é" }));
  say("history", await messages.getHistoryById({ message_id }));
  say("starred", await messages.flags.add({ messages: [message_id], flag: "starred" }));
  say("reacted", await reactions.add({ message_id, emoji_name: "tada" }));
  const narrow = [{ operator: "stream", operand: "everyone" }, topic];
  say("page", await messages.retrieve({ anchor: "newest", num_before: 5, num_after: 0, narrow }));
  say("not reacted", await reactions.remove({ message_id, emoji_name: "tada" }));
  say("topics", await streams.topics.retrieve({ stream_id }));
  say("typing", await client.typing.send({ to: [me.user_id], op: "start" }));
  say("emoji", await client.emojis.retrieve());
  say("people", await users.retrieve());
  say("alert words", await users.me.alertWords.retrieve());
  say("called", await client.callEndpoint("/settings", "PATCH", { twenty_four_hour_time: true }));
  say("refused", await streams.getStreamId("nowhere"));

  await client.callOnEachEvent(
    (event) => {
      say("event", event);
      if (event.type === "message" && event.message.content === "the last one") process.exit(0);
    },
    ["message", "reaction"],
  );
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
