/**
 * Temporary homes on a real disk. Flushing to memory costs nothing, so a benchmark of durable calls on a tmpfs would
 * be a lie: such a directory is not used, and one beside the build is taken instead.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TMPFS = 0x01021994
const RAMFS = 0x858458f6

export class Scratch {
  readonly root: string
  #homes = 0

  constructor() {
    this.root = mkdtempSync(join(realDisk(), 'intendant-bench-'))
  }

  /** A fresh, empty directory. */
  home(): string {
    const home = join(this.root, `home-${++this.#homes}`)
    mkdirSync(home)
    return home
  }

  /** Lets processes of other users reach the homes in it: PostgreSQL does not run as root. */
  admitOthers(): void {
    chmodSync(this.root, 0o711)
  }

  remove(directory: string): void {
    rmSync(directory, { recursive: true, force: true })
  }

  freeBytes(): number {
    const disk = statfsSync(this.root)
    return disk.bavail * disk.bsize
  }

  removeAll(): void {
    this.remove(this.root)
  }
}

function realDisk(): string {
  const temporary = tmpdir()
  const type = statfsSync(temporary).type
  if (type !== TMPFS && type !== RAMFS) return temporary
  const beside = fileURLToPath(new URL('../.bench-scratch', import.meta.url))
  mkdirSync(beside, { recursive: true })
  return beside
}
