/** A forward proxy on loopback that resolves every host to itself, and a certificate for a service behind it. */
import { request as ask, createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Test } from 'tap'

interface ForwardProxy {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string
  /** Requests as received: `CONNECT host:port` or `GET http://...`, followed by the proxy credentials. */
  readonly asked: string[]
}

/** @param refuses answers 403 to every CONNECT. */
export async function forwardProxy(test: Test, refuses = false): Promise<ForwardProxy> {
  const asked: string[] = []
  const note = ({ method, url, headers }: IncomingMessage): void => {
    const [, credentials = ''] = headers['proxy-authorization']?.split(' ') ?? []
    asked.push(`${method} ${url} ${Buffer.from(credentials, 'base64')}`.trim())
  }
  const server = createServer((request, response) => {
    note(request)
    const { method, headers } = request
    const { port, pathname, search } = new URL(request.url!)
    const onward = ask({ host: '127.0.0.1', port, path: pathname + search, method, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.destroy())
    request.pipe(onward)
  })
  server.on('connect', (request, socket, head) => {
    note(request)
    if (refuses) {
      socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
      return
    }
    const onward = connect(Number(request.url!.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      onward.write(head)
      onward.pipe(socket)
      socket.pipe(onward)
    })
    for (const one of [socket, onward]) {
      one.on('error', () => {})
      one.on('close', () => {
        socket.destroy()
        onward.destroy()
      })
    }
    test.teardown(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

/** A self-signed certificate for `intendant.test`, valid until 2126; it protects nothing. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBpTCCAUqgAwIBAgIUOG5SH/WhkdDlXOoNKQTpodsKI9MwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOaW50ZW5kYW50LnRlc3QwIBcNMjYxMTIzMTIwNjEwWhgPMjEy
NjEwMzAxMjA2MTBaMBkxFzAVBgNVBAMMDmludGVuZGFudC50ZXN0MFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEyV75Bmpq9fTibKTuBfkni8uo5U8emGsYEYaDICNc
QbWTcg1DBg0vQXdR15Sxf1wSmCjDpa9LkgGsx2OwZUutRKNuMGwwHQYDVR0OBBYE
FORT83Tt7BwKwAWLZP0bo0/VOhulMB8GA1UdIwQYMBaAFORT83Tt7BwKwAWLZP0b
o0/VOhulMA8GA1UdEwEB/wQFMAMBAf8wGQYDVR0RBBIwEIIOaW50ZW5kYW50LnRl
c3QwCgYIKoZIzj0EAwIDSQAwRgIhAKobn4fAajazkJ7fbAcs3B61QaVKMOqJHp/s
kiGqc03UAiEAyYE1lZzfjKBXamoUcAN05tVzhPiUB31muaH4sv5YoMY=
-----END CERTIFICATE-----
`

export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgvjKPhAp0nIOp5CfH
ok7BJiYNlGqP3pnDhPrs3lHvLD6hRANCAATJXvkGamr19OJspO4F+SeLy6jlTx6Y
axgRhoMgI1xBtZNyDUMGDS9Bd1HXlLF/XBKYKMOlr0uSAazHY7BlS61E
-----END PRIVATE KEY-----
`
