/**
 * A peer's server: how to find it on this machine, and how to start it on loopback with all its data in a directory of
 * its own.
 */
import type { Daemon } from '../daemon.ts'

export interface Place {
  /** A fresh, empty directory on the disk that all peers share. */
  readonly home: string
  /** Put before the server's command (see flushes.ts). */
  readonly wrapper?: readonly string[]
}

/** What a driver needs to reach the server. Plain data, since drivers run in another process. */
export interface Address {
  readonly host: string
  readonly port: number
  readonly [more: string]: unknown
}

export interface RunningServer {
  readonly daemon: Daemon
  readonly address: Address
  /** Ends what was started besides the daemon. */
  readonly afterStop?: () => Promise<void>
}

export interface PeerServer {
  readonly name: string
  /** Undefined if not installed. */
  version(): string | undefined
  /** How it differs from Debian's defaults, for the reader. */
  readonly setting: string
  start(place: Place): Promise<RunningServer>
}

export const LOOPBACK = '127.0.0.1'
