/**
 * What a formation brief remembers and the messages it takes. The artifact it was compiled to is an actor of its own
 * (`compiled.ts`): that is large and never changes, while the brief changes with every run.
 */

import type { PromptPhase } from '../documents/compiled-brief.ts'
import type {
  Approval,
  BriefRun,
  CompiledReference,
  FormationBriefCreate,
  FormationBriefPatch,
} from '../documents/formation-brief.ts'
import type { By, Message, MessageBody, Throttle } from '../machine.ts'
import type { CreateBody, CreationRecord } from '../repeated-create.ts'
import type { Artifact } from './compiler.ts'
import type { OpenRun } from './runs.ts'
import type { BriefSections, Sources } from './snapshot.ts'

export interface FormationBriefContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  /** Increases with every change of the sections. */
  readonly version: number
  readonly sections: BriefSections
  /** Oldest first. */
  readonly approvals: readonly Approval[]
  readonly compiled?: CompiledReference
  /** The run that it follows. */
  readonly run?: BriefRun
  readonly reason?: string | undefined
  readonly created_by?: By
  readonly created_at: string
  readonly updated_at?: string
  readonly submitted_at?: string
  readonly archived_at?: string
  readonly internal: {
    readonly creation: CreationRecord
    /** Runs that have not ended, oldest first. */
    readonly runs: readonly OpenRun[]
  }
}

interface CreateFormationBrief extends CreateBody {
  readonly id: string
  readonly project: string
  readonly project_id: string
  readonly sections: FormationBriefCreate
}

interface UpdateFormationBrief extends MessageBody {
  readonly type: 'update'
  readonly sections: FormationBriefPatch
  /** The version that was read; if absent, any will do. */
  readonly if_version?: number
}

interface SubmitFormationBrief extends MessageBody {
  readonly type: 'submit'
  /** The version that was read; if absent, any will do. */
  readonly if_version?: number
}

interface ApproveFormationBrief extends MessageBody {
  readonly type: 'approve'
  readonly throttle: Throttle
  readonly revision?: string
  /** The version that was read; if absent, any will do. */
  readonly if_version?: number
  /** What the brief's references currently resolve to. */
  readonly sources: Sources
}

interface CompileFormationBrief extends MessageBody {
  readonly type: 'compile'
  readonly revision?: string
  readonly sources: Sources
  /** Why no engine of the project can serve it; absent if one can. */
  readonly incapable?: string
}

/** A person rewrites one prompt. */
interface EditPrompt extends MessageBody {
  readonly type: 'edit_prompt'
  readonly phase: PromptPhase
  readonly prompt_text: string
  readonly reason?: string
  /** The version that was read; if absent, any will do. */
  readonly if_version?: number
  /** The compiled artifact that the editor has read; absent if the brief is not compiled. */
  readonly artifact?: Artifact
}

interface ArchiveFormationBrief extends MessageBody {
  readonly type: 'archive'
  readonly reason?: string
}

/** From a run request: it waits for a runner, for the first time or again. */
interface RunQueued extends MessageBody {
  readonly type: 'run_queued'
  readonly run_request_id: string
  readonly requested_at: string
  readonly digest: string
  readonly throttle: Throttle
  readonly entry_event: string
  readonly revision?: string
  /** Whether approvals permit handing it out. */
  readonly approved: boolean
  /** It has a retry policy, which takes an approval of its own. */
  readonly retries: boolean
  /** It repeats work that was done already, which also takes an approval of its own. */
  readonly again?: true
  /** It works on another repository or branch than the brief names, which also takes an approval of its own. */
  readonly elsewhere?: true
  readonly reason?: string
}

interface RunMoved<Type extends string> extends MessageBody {
  readonly type: Type
  readonly run_request_id: string
}

interface RunStopped extends MessageBody {
  readonly type: 'run_stopped'
  readonly run_request_id: string
  readonly outcome: 'failed' | 'cancelled' | 'lost'
  readonly reason: string
}

/** From an engine run: somebody reported observations of these intent records to it. */
interface RunObserved extends MessageBody {
  readonly type: 'run_observed'
  readonly run_request_id: string
  readonly intent_record_ids: readonly string[]
}

export type FormationBriefBody =
  | CreateFormationBrief
  | UpdateFormationBrief
  | SubmitFormationBrief
  | ApproveFormationBrief
  | CompileFormationBrief
  | EditPrompt
  | ArchiveFormationBrief
  | RunQueued
  | RunMoved<'run_accepted'>
  | RunMoved<'run_started'>
  | RunMoved<'run_completed'>
  | RunStopped
  | RunObserved

export type FormationBriefMessage = Message<FormationBriefBody>
export type Of<T extends FormationBriefBody['type']> = Message<Extract<FormationBriefBody, { type: T }>>
