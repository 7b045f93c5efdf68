// One BullMQ worker process: node worker.js <redis port> <target url> <body> <concurrency>
import { Worker } from 'bullmq';
import { Pool } from 'undici';

const [port, url, body, concurrency] = process.argv.slice(2);
const target = new URL(url);
const headers = { 'content-type': 'application/json' };
// As many kept-open connections as jobs at once, so that no job waits for one.
const pool = new Pool(target.origin, { connections: Number(concurrency), keepAliveTimeout: 60_000 });

async function call({ data }) {
  const path = `${target.pathname}?due=${data.at}&id=${data.id}`;
  const answer = await pool.request({ method: 'POST', path, headers, body });
  await answer.body.dump();
}

const worker = new Worker('calls', call, {
  connection: { host: '127.0.0.1', port: Number(port), maxRetriesPerRequest: null },
  concurrency: Number(concurrency),
  removeOnComplete: { count: 0 },
});
worker.on('error', (error) => console.error(error));
await worker.waitUntilReady();
console.log('ready');
