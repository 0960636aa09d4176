/** What can be done to run requests and to runners. */
import type { Document } from '../document.ts'
import { type Action, discard, inState, reason } from './action.ts'

const run = (move: string) => (of: Document) => `api/run-requests/${of.id}/${move}`

export const RUN_ACTIONS: readonly Action[] = [
  {
    label: 'Approve',
    isForMany: true,
    explains: 'It may make changes, and goes to a runner.',
    needs: ['approve.full'],
    isOffered: (of) => of.waiting_because?.code === 'not_approved',
    path: run('approve'),
  },
  {
    label: 'Requeue',
    isForMany: true,
    explains: 'It is handed out again. Its runner has not been heard from: the work may have been done already.',
    needs: ['work.operate'],
    isOffered: inState('lost'),
    path: run('requeue'),
    isGrave: true,
  },
  {
    label: 'Try now',
    explains: 'It is handed out again although its provider was unavailable.',
    needs: ['work.operate'],
    isOffered: (of) => of.waiting_because?.code === 'provider_unavailable',
    path: run('requeue'),
  },
  {
    label: 'Fail',
    isForMany: true,
    explains: 'It counts as failed, whatever its runner has done.',
    needs: ['work.operate'],
    isOffered: inState('lost'),
    path: run('fail'),
    fields: [{ name: 'message', label: 'Why', type: 'long', isRequired: true }],
    isGrave: true,
  },
  {
    label: 'Cancel',
    isForMany: true,
    explains: 'If it waits, it ends at once; otherwise its runner is told to stop.',
    needs: ['work.operate'],
    isOffered: inState('queued', 'offered', 'accepted', 'started'),
    path: run('cancel'),
    fields: [reason, discard],
    isGrave: true,
  },
]

const patchRunner = {
  method: 'PATCH',
  path: (of: Document) => `api/runners/${encodeURIComponent(of.id)}`,
} as const

export const RUNNER_ACTIONS: readonly Action[] = [
  {
    ...patchRunner,
    label: 'Drain',
    explains: 'It finishes what it has and gets nothing new.',
    needs: ['runner.manage'],
    isOffered: (of) => of.state === 'registered',
    body: () => ({ draining: true }),
  },
  {
    ...patchRunner,
    label: 'Undrain',
    explains: 'It gets work again.',
    needs: ['runner.manage'],
    isOffered: (of) => of.state === 'draining',
    body: () => ({ draining: false }),
  },
  {
    ...patchRunner,
    label: 'Unlimit',
    explains: 'It gets work again at once, although its provider was unavailable.',
    needs: ['runner.manage'],
    isOffered: (of) => of.limited !== undefined,
    body: () => ({ limited: false }),
  },
]
