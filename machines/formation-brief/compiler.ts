/**
 * The compile: turns a brief, the records behind it and a revision into the one artifact that a digest names. Run
 * twice, before an approval and at the compile, so that comparing digests shows whether what would be frozen is what
 * was approved.
 */

import { canonical } from '../canonical.ts'
import { digestOf } from '../digest.ts'
import type { BriefSnapshot, HumanEdit, PromptPack } from '../documents/compiled-brief.ts'
import type { SourceVersion } from '../documents/formation-brief.ts'
import { editedPack, packOf } from './prompt-pack.ts'
import { type BriefText, freeze, type Sources } from './snapshot.ts'

/** What a digest stands for. */
export interface Artifact {
  readonly digest: string
  readonly snapshot: BriefSnapshot
  readonly prompt_pack: PromptPack
}

/** The longest text of a compiled brief with its prompts, characters: it is one record, and one answer. */
const ARTIFACT_CHARS_MAX = 1024 * 1024

export function compileBrief(brief: BriefText, sources: Sources, revision: string | undefined): Artifact {
  const core = freeze(brief, sources, revision)
  return artifactOf(core, packOf(core))
}

/** The artifact with one prompt rewritten by a person: a new artifact, with a digest of its own. */
export function editArtifact(before: Artifact, text: string, edit: Omit<HumanEdit, 'previous_digest'>): Artifact {
  const { prompt_pack: _, ...core } = before.snapshot
  return artifactOf(core, editedPack(before.prompt_pack, text, edit))
}

function artifactOf(core: Omit<BriefSnapshot, 'prompt_pack'>, pack: PromptPack): Artifact {
  const { digest, template_version } = pack
  const snapshot: BriefSnapshot = { ...core, prompt_pack: { digest, template_version } }
  return { digest: digestOf(snapshot), snapshot, prompt_pack: pack }
}

export function isTooLarge({ snapshot, prompt_pack }: Artifact): boolean {
  return canonical(snapshot).length + canonical(prompt_pack).length > ARTIFACT_CHARS_MAX
}

/** Digest of the intent that the brief stands on now: changes with a record's version, or if a record drops out. */
export function intentDigest({ records, unfit }: Sources): string {
  const versions: SourceVersion[] = records.map(({ id, version }) => ({ id, version }))
  const ids = unfit.map(({ id }) => id)
  return digestOf([versions.sort((a, b) => (a.id < b.id ? -1 : 1)), [...ids].sort()])
}
