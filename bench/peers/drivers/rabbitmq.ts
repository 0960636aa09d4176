/**
 * RabbitMQ: publish with confirmation, a consumer to which jobs are pushed, and acknowledgement (which AMQP does not
 * answer). One connection with a channel for each direction, as its client's documentation advises.
 */
import { type ConsumeMessage, connect } from 'amqplib'
import { Deliveries } from '../deliveries.ts'
import type { Open } from '../driver.ts'

function open(queue: string, type: 'classic' | 'quorum'): Open {
  return async (address, clients) => {
    // Without noDelay a lone client waits 40 ms for the kernel.
    const connection = await connect(`amqp://guest:guest@${address.host}:${address.port}`, { noDelay: true })
    const publishing = await connection.createConfirmChannel()
    const consuming = await connection.createChannel()
    await publishing.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': type } })
    await consuming.prefetch(2 * clients)
    const deliveries = new Deliveries<ConsumeMessage>()
    const { consumerTag } = await consuming.consume(queue, (message) => message !== null && deliveries.push(message))
    return {
      cycle: async (_client, job) => {
        const content = Buffer.from(JSON.stringify(job))
        await new Promise<void>((resolve, reject) => {
          publishing.sendToQueue(queue, content, { persistent: true }, (refused) =>
            refused ? reject(refused) : resolve(),
          )
        })
        const message = await deliveries.next()
        JSON.parse(message.content.toString())
        consuming.ack(message)
      },
      close: async () => {
        await consuming.cancel(consumerTag)
        await Promise.all([publishing.close(), consuming.close()])
        await connection.close()
      },
    }
  }
}

export const quorum: Open = open('work-quorum', 'quorum')
export const classic: Open = open('work-classic', 'classic')
