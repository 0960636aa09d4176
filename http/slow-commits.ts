/**
 * Logs that the disk is slow. The metric of all commits hides a single one that took half a minute, and while it lasts
 * neither metrics nor health can be asked for.
 */
import type { Runtime } from '../runtime/api.ts'
import { slowCommitMs, slowCommitToldMs } from '../runtime/limits.ts'
import type { Logger } from '../runtime/log.ts'

export function tellOfSlowCommits({ journal, platform }: Runtime, log: Logger): void {
  let toldMs = Number.NEGATIVE_INFINITY
  let slow = 0
  journal.onFlush?.((ms) => {
    if (ms < slowCommitMs) return
    slow++
    const nowMs = platform.monotonicMs()
    if (nowMs - toldMs < slowCommitToldMs) return
    log.warn(
      { took_ms: Math.round(ms), slow_commits: slow },
      'a commit took long to reach the disk, and nobody was answered meanwhile',
    )
    toldMs = nowMs
    slow = 0
  })
}
