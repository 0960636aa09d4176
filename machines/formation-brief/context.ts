/**
 * What a formation brief remembers and what it can be told. The artifact that it was compiled to is an actor of its
 * own (`compiled.ts`): it is large, it never changes, and the brief moves on with every run.
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
import type { CreateBody, CreationRecord } from '../second-create.ts'
import type { Artifact } from './compiler.ts'
import type { OpenRun } from './runs.ts'
import type { BriefSections, Sources } from './snapshot.ts'

export interface FormationBriefContext {
  readonly id: string
  /** Key and id of the project. */
  readonly project: string
  readonly project_id: string
  /** Goes up with every change of the sections. */
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
    /** Those that have not ended, oldest first. */
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
  /** The version that was read; absent: any. */
  readonly if_version?: number
}

interface SubmitFormationBrief extends MessageBody {
  readonly type: 'submit'
  /** The version that was read; absent: any. */
  readonly if_version?: number
}

interface ApproveFormationBrief extends MessageBody {
  readonly type: 'approve'
  readonly throttle: Throttle
  readonly revision?: string
  /** The version that was read; absent: any. */
  readonly if_version?: number
  /** What the brief's references lead to at this moment. */
  readonly sources: Sources
}

interface CompileFormationBrief extends MessageBody {
  readonly type: 'compile'
  readonly revision?: string
  readonly sources: Sources
  /** Why no engine of the project can serve it; absent: one can. */
  readonly incapable?: string
}

/** A person writes one prompt anew. */
interface EditPrompt extends MessageBody {
  readonly type: 'edit_prompt'
  readonly phase: PromptPhase
  readonly prompt_text: string
  readonly reason?: string
  /** The version that was read; absent: any. */
  readonly if_version?: number
  /** What the brief is compiled to, as the editor has read it; absent: it is not compiled. */
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
  /** Whether it may be handed out, as far as approvals go. */
  readonly approved: boolean
  /** It asks to be run again by itself: that takes an approval of its own. */
  readonly retries: boolean
  /** It repeats what was done already: that takes one, too. */
  readonly again?: true
  /** It is to work on another repository or branch than the brief is for: so does that. */
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

/** From an engine run: it was told what somebody saw of these intent records. */
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
