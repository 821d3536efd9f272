// A receiver of webhooks in JavaScript: verify first, remember the id, answer soon. Needs `npm ci`.
//
//     WEBHOOK_SECRET=whsec_… PORT=8000 node receiver.mjs

import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const seen = new Set(); // yours: a unique column in your database, written with what the event changes

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    // Over the bytes as they came: JSON that was read and written again has other bytes. The library gives the body
    // back parsed, so a payload that is no JSON fails here, too.
    webhook.verify(Buffer.concat(chunks), request.headers);
  } catch {
    response.writeHead(400).end();
    return;
  }
  const eventId = request.headers["webhook-id"];
  if (!seen.has(eventId)) {
    // the same event may come more than once
    seen.add(eventId);
    console.log(`received ${request.headers["webhook-event-type"]} ${eventId}`);
  }
  response.writeHead(204).end();
});

server.listen(Number(process.env.PORT ?? 8000), "127.0.0.1", () => {
  console.log(`listening on ${server.address().port}`);
});
