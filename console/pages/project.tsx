/** What a project means and what is asked of it: its intent, what was inferred, whether it holds, and its briefs. */
import type { JSX } from 'preact'
import { KINDS } from '../kinds.ts'
import { Section } from '../parts/basics.tsx'
import { DriftList } from './drift.tsx'
import { Rows } from './list.tsx'

const LISTED = ['intent', 'hypotheses', 'briefs', 'items'] as const

export function OfProject({ project }: { project: string }): JSX.Element {
  return (
    <>
      <Section title="Drift">
        <DriftList project={project} />
      </Section>
      {LISTED.map((page) => (
        <Section key={page} title={KINDS[page]!.many}>
          <Rows kind={KINDS[page]!} project={project} chosen={undefined} />
        </Section>
      ))}
    </>
  )
}
