/**
 * A peer's server: where it is found on this machine, and how it is started on loopback with all it keeps under a
 * directory of its own.
 */
import type { Daemon } from '../daemon.ts'

export interface Place {
  /** Fresh and empty, on the disk that all peers share. */
  readonly home: string
  /** Stands before the server's command (see flushes.ts). */
  readonly wrapper?: readonly string[]
}

/** What a driver needs to reach the server; plain data, since drivers live in another process. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly [more: string]: unknown
}

export interface RunningServer {
  readonly daemon: Daemon
  readonly address: Address
  /** Ends what was started beside the daemon. */
  readonly afterStop?: () => Promise<void>
}

export interface PeerServer {
  readonly name: string
  /** Undefined: not installed. */
  version(): string | undefined
  /** What is not as Debian starts it, said for the reader. */
  readonly setting: string
  start(place: Place): Promise<RunningServer>
}

export const LOOPBACK = '127.0.0.1'
