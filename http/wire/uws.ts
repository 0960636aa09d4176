/**
 * The one file that imports uWebSockets.js. It declares its own minimal types, for what is used here. The rules that
 * the native library imposes on handlers are kept by http/router.ts and http/wire/exchange.ts.
 *
 * The npm package `uwebsockets` is a repack of the official build under the alias `uWebSockets.js`. To switch to the
 * official one: `npm install uWebSockets.js@github:uNetworking/uWebSockets.js#v20.69.0`, remove the alias, and change
 * nothing else: both export what is typed here.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createSecureContext } from 'node:tls'
import type { Socket } from '../route.ts'

export interface UwsResponse {
  writeStatus(status: string): UwsResponse
  writeHeader(name: string, value: string | Uint8Array): UwsResponse
  write(chunk: string | Uint8Array): boolean
  end(body?: string | Uint8Array, closeConnection?: boolean): UwsResponse
  /**
   * Sends as much of `body` as the connection takes now. The first call must pass the whole body, later ones its rest
   * and `totalBytes`, the length of the whole. Returns [not used here, whether everything was sent].
   */
  tryEnd(body: string | Uint8Array, totalBytes?: number): readonly [boolean, boolean]
  /** Must be called without arguments: an explicit `undefined` counts as a length and leaves the answer unfinished. */
  endWithoutBody(): UwsResponse
  close(): UwsResponse
  cork(callback: () => void): UwsResponse
  onAborted(handler: () => void): UwsResponse
  onData(handler: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse
  onWritable(handler: (offset: number) => boolean): UwsResponse
  getRemoteAddressAsText(): ArrayBuffer
  pause(): void
  resume(): void
  upgrade(data: unknown, key: string, protocol: string, extensions: string, context: unknown): void
}

/** Lives on the native stack: invalid once the handler returns. */
export interface UwsRequest {
  getHeader(lowerCaseName: string): string
  forEach(visit: (lowerCaseName: string, value: string) => void): void
  getParameter(index: number): string
  getUrl(): string
  getMethod(): string
  getQuery(): string
}

export interface UwsSocketBehavior {
  maxPayloadLength: number
  idleTimeout: number
  maxBackpressure: number
  closeOnBackpressureLimit: boolean
  compression: number
  sendPingsAutomatically: boolean
  upgrade(response: UwsResponse, request: UwsRequest, context: unknown): void
  open(socket: Socket): void
  message(socket: Socket, message: ArrayBuffer, isBinary: boolean): void
  ping(socket: Socket): void
  drain(socket: Socket): void
  close(socket: Socket, code: number, message: ArrayBuffer): void
}

export type UwsHandler = (response: UwsResponse, request: UwsRequest) => void
export type UwsVerb = 'get' | 'post' | 'put' | 'patch' | 'del' | 'head' | 'options' | 'any'

export type UwsApp = Readonly<Record<UwsVerb, (pattern: string, handler: UwsHandler) => unknown>> & {
  ws(pattern: string, behavior: UwsSocketBehavior): unknown
  listen(host: string, port: number, options: number, callback: (socket: unknown) => void): unknown
  close(): unknown
}

interface UwsModule {
  App(): UwsApp
  SSLApp(options: { key_file_name: string; cert_file_name: string }): UwsApp
  us_listen_socket_close(socket: unknown): void
  us_socket_local_port(socket: unknown): number
  readonly DISABLED: number
}

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`: without it a second service would share the port silently (SO_REUSEPORT). */
const EXCLUSIVE_PORT = 1

/**
 * The binary for this Node.js is missing, or the port cannot be bound. The message says so plainly; `cause` is kept.
 */
class ServerFailure extends Error {
  override readonly name = 'ServerFailure'
}

let loaded: UwsModule | undefined

/** Matches characters that are in Latin-1 but not in ASCII. */
const LATIN_1 = /[\u0080-\u00ff]/
/** `process.versions.modules` of Node.js 22. */
const NODE_22 = 127

/** The text, or its UTF-8 bytes if the library would send it as Latin-1. */
export function bytesOfLatin1(text: string): string | Uint8Array {
  return LATIN_1.test(text) ? Buffer.from(text) : text
}

/**
 * What to pass to the library so that it sends the text as UTF-8. Its binary for Node.js 24 sends a string that V8
 * stores as one byte per character unchanged, that is as Latin-1 (seen with 24.21; those for 20 and 22 do not).
 */
export const sendable: (text: string) => string | Uint8Array =
  Number(process.versions.modules) > NODE_22 ? bytesOfLatin1 : (text) => text

/** Loads the library once. Its static initializer reads the bound on headers, so the first caller's bound holds. */
function load(headerBytesMax: number): UwsModule {
  if (loaded !== undefined) return loaded
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(headerBytesMax)
  try {
    loaded = createRequire(import.meta.url)('uWebSockets.js') as UwsModule
  } catch (cause) {
    throw notLoaded(cause)
  }
  return loaded
}

/** How the loader reports a C library that is too old. */
const GLIBC_NEEDED = /GLIBC_([0-9.]+)' not found/
/** The last paragraph holds the loader's own words; the text before it is about other machines. */
const BUT_LAST_PARAGRAPH = /^[\s\S]*\n\n/

/** Explains why the library could not be loaded, and what to do about it. */
export function notLoaded(cause: unknown): ServerFailure {
  const machine = `${process.platform}-${process.arch}, Node.js ${process.version} (ABI ${process.versions.modules})`
  const reason = (cause instanceof Error ? cause.message : String(cause)).replace(BUT_LAST_PARAGRAPH, '').trim()
  const glibc = GLIBC_NEEDED.exec(reason)?.[1]
  const advice =
    glibc === undefined
      ? 'There are binaries for Node.js 20, 22 and 24 on Linux with glibc, macOS and Windows.'
      : `This Linux is older than the binary: use one with glibc ${glibc} or newer, or Node.js 20, whose binary needs less.`
  return new ServerFailure(
    `uWebSockets.js could not be loaded on ${machine}: ${reason}. ${advice} Its official build can be used instead (OPERATIONS.md).`,
    { cause },
  )
}

interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

interface ServerOptions {
  readonly headerBytesMax: number
  readonly tls?: TlsFiles
}

export interface Server {
  readonly app: UwsApp
  /** Binds, and returns the port (useful if 0 was asked for). */
  listen(host: string, port: number): Promise<number>
  /** Takes no new connections; existing ones stay open. */
  stopListening(): void
  /** Drops every connection. */
  close(): void
}

/**
 * The library only says that it cannot use the files, so Node.js is asked what is wrong with them. Throws
 * ServerFailure.
 */
function checkTls({ certFile, keyFile }: TlsFiles): void {
  const cert = readPem('tls_cert', certFile)
  const key = readPem('tls_key', keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (cause) {
    const reason = (cause as Error).message
    throw new ServerFailure(
      `tls_cert (${certFile}) and tls_key (${keyFile}) cannot be used: ${reason}. Give a certificate chain and its private key without a passphrase, both as PEM.`,
      { cause },
    )
  }
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw new ServerFailure(`${setting} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Creates a server without routes. Throws ServerFailure if the library cannot be loaded, or the TLS files cannot be
 * used.
 */
export function createServer(options: ServerOptions): Server {
  const { tls } = options
  if (tls !== undefined) checkTls(tls)
  const uws = load(options.headerBytesMax)
  const app = tls === undefined ? uws.App() : uws.SSLApp({ key_file_name: tls.keyFile, cert_file_name: tls.certFile })
  let listener: unknown
  return {
    app,
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        app.listen(host, port, EXCLUSIVE_PORT, (socket) => {
          if (!socket) {
            reject(
              new ServerFailure(
                `Cannot listen on ${host}:${port}: is the port in use, or below 1024 and reserved for root, or is this not an address of this machine (IPv6 without brackets)?`,
              ),
            )
            return
          }
          listener = socket
          resolve(uws.us_socket_local_port(socket))
        })
      }),
    stopListening: () => {
      if (listener !== undefined) uws.us_listen_socket_close(listener)
      listener = undefined
    },
    close: () => {
      listener = undefined
      app.close()
    },
  }
}

/** No compression: streams are local or behind a proxy, and a compressor costs memory for each socket. */
export const UWS_DISABLED_COMPRESSION = 0
