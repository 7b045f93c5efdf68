// Receives signed callbacks of WangTimer, with Node's own modules alone.
//
//     WEBHOOK_SECRET="whsec_..." node receiver.mjs 8000
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const TOLERANCE_S = 300
const MOST_BODY_BYTES = 1_048_576
const MOST_SEEN = 100_000
// Several, divided by spaces, while one replaces another.
const keys = process.env.WEBHOOK_SECRET.split(' ').map((one) => Buffer.from(one.replace(/^whsec_/, ''), 'base64'))
const seen = new Set()

function isSigned(id, timestamp, signatures, body) {
  if (!/^\d{1,15}$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S) return false
  let found = false
  for (const key of keys) {
    const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest()
    for (const signature of signatures.split(' ')) {
      const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
      if (signature.startsWith('v1,') && given.length === digest.length) found = timingSafeEqual(given, digest) || found
    }
  }
  return found
}

// Put your work here. Better: store the id and what the work does in one transaction of your database.
function act(id) {
  console.log('acted on', id)
}

const server = createServer((request, response) => {
  const answer = (status) => response.writeHead(status).end()
  const parts = []
  let bytes = 0
  request.on('data', (part) => {
    bytes += part.length
    if (bytes <= MOST_BODY_BYTES) parts.push(part)
    else answer(400), request.destroy()
  })
  request.on('error', () => {}) // cut off: nothing is acted on
  request.on('end', () => {
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': signatures = '' } =
      request.headers
    if (!isSigned(id, timestamp, signatures, Buffer.concat(parts))) return answer(401)
    try {
      if (!seen.has(id)) act(id)
    } catch {
      return answer(500) // the call comes again
    }
    seen.add(id)
    if (seen.size > MOST_SEEN) seen.delete(seen.values().next().value)
    answer(204)
  })
})
server.listen(Number(process.argv[2]), '127.0.0.1', () => console.log('listening on', server.address().port))
