// Makes, finds and cancels a timer of the service at the URL it is given; prints the timer's id.
import { Configuration, TimersApi } from './index';

declare const process: { argv: string[]; exitCode: number };

async function main(): Promise<void> {
    const timers = new TimersApi(new Configuration({ basePath: process.argv[2] }));
    const wangTimerApp = 'shop', which = 'key:from-typescript';
    const made = await timers.v1CreateTimer({
        wangTimerApp,
        idempotencyKey: 'from-typescript',
        newTimerBody: {
            key: 'from-typescript',
            schedule: { delay: '30m' },
            target: { url: 'http://localhost:9/expire', json: { order: 42 } },
        },
    });
    const found = await timers.v1GetTimer({ wangTimerApp, which });
    const listed = await timers.v1ListTimers({ wangTimerApp, key: 'from-typescript' });
    if (found.id !== made.id || listed.items.length !== 1 || listed.items[0].id !== made.id || found.status !== 'enabled') {
        throw new Error(`made ${made.id}, found ${found.id}, listed ${JSON.stringify(listed.items)}`);
    }
    const off = await timers.v1DisableTimer({ wangTimerApp, which });
    if (off.timer.status !== 'disabled') {
        throw new Error(`it is ${off.timer.status}`);
    }
    console.log(made.id);
}

main().catch((error) => {
    console.error(error);
    process.exitCode = 1;
});
