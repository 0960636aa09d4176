/**
 * A JetStream work queue: publish with acknowledgement, a pull consumer, and acknowledgements that are themselves
 * answered.
 */
import { AckPolicy, type JsMsg, jetstream, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { Deliveries } from '../deliveries.ts'
import type { Open } from '../driver.ts'

const STREAM = 'WORK'
const SUBJECT = 'work'

export const workQueue: Open = async (address, clients) => {
  const connection = await connect({ servers: `${address.host}:${address.port}` })
  const manager = await jetstreamManager(connection)
  const stream = { name: STREAM, subjects: [SUBJECT], retention: RetentionPolicy.Workqueue, storage: StorageType.File }
  await manager.streams.add(stream)
  await manager.consumers.add(STREAM, { durable_name: 'worker', ack_policy: AckPolicy.Explicit })
  const stage = jetstream(connection)
  const consumer = await stage.consumers.get(STREAM, 'worker')
  const deliveries = new Deliveries<JsMsg>()
  const messages = await consumer.consume({
    max_messages: 2 * clients,
    callback: (message) => deliveries.push(message),
  })
  return {
    cycle: async (_client, job) => {
      await stage.publish(SUBJECT, JSON.stringify(job))
      const message = await deliveries.next()
      message.json()
      await message.ackAck()
    },
    close: async () => {
      await messages.close()
      await connection.close()
    },
  }
}
