/** Every system that is measured: its server, its client, and its settings. */
import type { Bar } from '../question.ts'
import type { DriverName } from './client.ts'
import type { PeerServer } from './server.ts'
import { beanstalkd } from './servers/beanstalkd.ts'
import { intendant } from './servers/intendant.ts'
import { nats } from './servers/nats.ts'
import { postgres } from './servers/postgres.ts'
import { rabbitmq } from './servers/rabbitmq.ts'
import { redis } from './servers/redis.ts'

export interface System {
  readonly name: string
  readonly server: PeerServer
  readonly driver: DriverName
  /** How its client is used. */
  readonly usage: string
  /** Floor and goal for our rate, as a multiple of this system's. */
  readonly bar?: Bar
}

const SLOW = { row: 4, floor: 6, goal: 8 }
const REDIS = { row: 3, floor: 1, goal: 1.6 }

/** Ours comes first: all others are compared with it. */
export const systems: readonly System[] = [
  {
    name: 'Intendant',
    server: intendant,
    driver: 'intendant',
    usage: 'create, poll, completed over HTTP; plain sockets, one a client',
  },
  {
    name: 'Intendant, node:http',
    server: intendant,
    driver: 'intendant-node-http',
    usage: 'the same through node:http with keep-alive',
  },
  {
    name: 'BullMQ, three calls',
    server: redis,
    driver: 'bullmq-calls',
    usage: 'add, getNextJob, moveToCompleted; removeOnComplete',
    bar: REDIS,
  },
  {
    name: 'BullMQ Worker',
    server: redis,
    driver: 'bullmq-worker',
    usage: 'add; a Worker with that concurrency completes a job and takes the next in one command; removeOnComplete',
    bar: REDIS,
  },
  {
    name: 'Redis by hand',
    server: redis,
    driver: 'redis-lists',
    usage: 'LPUSH, LMOVE, LREM',
  },
  {
    name: 'PostgreSQL by hand',
    server: postgres,
    driver: 'skip-locked',
    usage: 'insert, update ... SKIP LOCKED, delete; prepared; a pool of at most 32',
    bar: { row: 5, floor: 1.5, goal: 2 },
  },
  {
    name: 'pg-boss',
    server: postgres,
    driver: 'pg-boss',
    usage: 'send, fetch, complete; its polling left out; a pool of 12',
    bar: SLOW,
  },
  {
    name: 'graphile-worker',
    server: postgres,
    driver: 'graphile-worker',
    usage: 'addJob; a runner with that concurrency, woken by NOTIFY; a pool of 15',
    bar: SLOW,
  },
  {
    name: 'graphile-worker, batching',
    server: postgres,
    driver: 'graphile-worker-batching',
    usage: 'the same with localQueue and completeJobBatchDelay 0',
    bar: SLOW,
  },
  {
    name: 'NATS JetStream',
    server: nats,
    driver: 'jetstream',
    usage: 'publish with acknowledgement, pull consumer, ackAck',
    bar: { row: 5, floor: 1, goal: 1.3 },
  },
  {
    name: 'beanstalkd',
    server: beanstalkd,
    driver: 'beanstalkd',
    usage: 'put, reserve, delete; one connection a client; a reserve is not written',
    bar: { row: 5, floor: 2, goal: 2.5 },
  },
  {
    name: 'RabbitMQ, quorum queue',
    server: rabbitmq,
    driver: 'rabbitmq-quorum',
    usage: 'publish with confirm, consumer, ack (which AMQP does not answer)',
  },
  {
    name: 'RabbitMQ, classic queue',
    server: rabbitmq,
    driver: 'rabbitmq-classic',
    usage: 'the same, durable and persistent',
  },
]
