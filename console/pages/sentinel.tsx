/** What a sentinel has submitted, and how that ended. */
import type { JSX } from 'preact'
import type { Document } from '../document.ts'
import { KINDS } from '../kinds.ts'
import { Section } from '../parts/basics.tsx'
import { Rows } from './list.tsx'

export function OfSentinel({ of: { name, project } }: { of: Document }): JSX.Element {
  return (
    <Section title="Its items">
      <Rows kind={KINDS.items!} project={project} chosen={undefined} query={{ source: `sentinel:${name}` }} />
    </Section>
  )
}
