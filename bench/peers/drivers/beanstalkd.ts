/** put, reserve, delete, with one connection per client, since a connection answers one call at a time. */
import jackd from 'jackd'
import type { Open } from '../driver.ts'

/** The package exports a single class, although its types say otherwise. */
const JackdClient = jackd as unknown as typeof jackd.JackdClient

export const beanstalk: Open = async (address, clients) => {
  const connections = await Promise.all(
    Array.from({ length: clients }, async () => {
      const client = new JackdClient()
      await client.connect({ host: address.host, port: address.port })
      client.socket.setNoDelay(true)
      return client
    }),
  )
  return {
    cycle: async (client, job) => {
      const connection = connections[client]!
      await connection.put(JSON.stringify(job))
      const taken = await connection.reserve()
      JSON.parse(taken.payload.toString())
      await connection.delete(taken.id)
    },
    close: async () => {
      for (const { socket } of connections) socket.destroy()
    },
  }
}
