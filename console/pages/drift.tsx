/** Drift: which records of a project hold, and what is known about one of them. */
import type { JSX } from 'preact'
import { DRIFT_ACTIONS } from '../actions/meaning.ts'
import type { Document } from '../document.ts'
import { Actions } from '../parts/actions.tsx'
import { Age, Loaded, Ref, Section, State } from '../parts/basics.tsx'
import { Fields } from '../parts/fields.tsx'
import { Table } from '../parts/table.tsx'
import { useResource } from '../resource.ts'

const pathOf = (project: string): string => `api/projects/${encodeURIComponent(project)}/drift`

export function DriftOf({ record }: { record: Document }): JSX.Element {
  const resource = useResource(`${pathOf(record.project)}/${record.id}`)
  return (
    <Section title="Drift">
      <Loaded from={resource}>
        {(of) => (
          <>
            <Actions actions={DRIFT_ACTIONS} of={of} onDone={resource.reload} />
            <Fields of={of} without={['project', 'intent_record']} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

export function DriftList({ project }: { project: string }): JSX.Element {
  const resource = useResource(pathOf(project), { query: { limit: 100 } })
  return (
    <Loaded from={resource}>
      {({ items }) => (
        <Table
          label="Drift"
          rows={items}
          keyOf={({ intent_record }) => intent_record.id}
          none="No records, so nothing can drift."
          columns={[
            { head: 'Record', cell: ({ intent_record: { id, title } }) => <Ref to={id}>{title}</Ref>, isWide: true },
            { head: 'Status', cell: ({ status }) => <State of={status} /> },
            { head: 'Severity', cell: ({ severity }) => severity },
            { head: 'To do', cell: ({ action }) => action },
            {
              head: 'Because',
              cell: ({ because }) => because.map(({ detail }: Document) => detail).join(' '),
              isWide: true,
            },
            { head: 'Since', cell: ({ since }) => <Age of={since} /> },
          ]}
        />
      )}
    </Loaded>
  )
}
