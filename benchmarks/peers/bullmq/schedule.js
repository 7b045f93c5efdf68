// Adds a delayed job for each line "<id> <moment in ms>" of standard input: node schedule.js <redis port>
import { readFileSync } from 'node:fs';
import { Queue } from 'bullmq';

const BATCH = 1_000;
const queue = new Queue('calls', { connection: { host: '127.0.0.1', port: Number(process.argv[2]) } });
const moments = readFileSync(0, 'utf8').trim().split('\n').map((line) => line.split(' ').map(Number));

function job([id, at]) {
  const timestamp = Date.now();
  return { name: 'call', data: { id, at }, opts: { timestamp, delay: at - timestamp, removeOnComplete: true } };
}

for (let first = 0; first < moments.length; first += BATCH) {
  await queue.addBulk(moments.slice(first, first + BATCH).map(job));
}
await queue.close();
