/**
 * The project's documents: a project as served, and the bodies that create and change it. The key is the project's name
 * in every event, so it never changes.
 */
import { WRITERS_MAX } from '../bounds.ts'
import { nullable, type Static, stringEnum, Type } from '../schema.ts'
import {
  CLOSED,
  LONG_TEXT_LENGTH_MAX,
  projectKey,
  REFERENCE_LENGTH_MAX,
  reference,
  serviceId,
  shownName,
  time,
} from './fields.ts'
import { usageDocument } from './usage.ts'

/** Unless a project says otherwise, one run at a time changes its repository. */
export const WRITERS_DEFAULT = 1

const maxWriters = Type.Integer({
  minimum: 1,
  maximum: WRITERS_MAX,
  description:
    'How many runs that change something may be at work in its repository at the same time; those of other projects with the same repository are counted too. Default: 1.',
})

const charterText = (description: string) =>
  Type.Optional(Type.String({ maxLength: LONG_TEXT_LENGTH_MAX, description }))

const charterFields = {
  mission: charterText('What the project is for.'),
  target_audience: charterText('Who it is for.'),
  problem_space: charterText('The problem it solves.'),
  differentiators: charterText('What sets it apart.'),
  out_of_scope: charterText('What it deliberately leaves to others.'),
}

/** Replaces the whole charter: an omitted or blank field is cleared. */
export const charterBody = Type.Object(charterFields, { ...CLOSED, title: 'CharterPut' })

export const charterDocument = Type.Object(charterFields, {
  ...CLOSED,
  title: 'Charter',
  description: 'What a project is for, in its owner’s words. All fields are optional.',
})
export type Charter = Static<typeof charterDocument>

export const projectCreateBody = Type.Object(
  {
    key: Type.Optional(
      projectKey('Lower-case letters, digits, `_` and `-`; unique, never changes. Derived from `name` when absent.'),
    ),
    name: shownName('Display name.'),
    repository: Type.Optional(reference('Where its code lives: a URL or a path that its runners understand.')),
    max_writers: Type.Optional(maxWriters),
  },
  { ...CLOSED, title: 'ProjectCreate' },
)
export type ProjectCreate = Static<typeof projectCreateBody>

export const projectPatchBody = Type.Object(
  {
    name: Type.Optional(shownName('A new name.')),
    repository: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: REFERENCE_LENGTH_MAX,
          description: 'A new repository; null removes it.',
        }),
      ),
    ),
    max_writers: Type.Optional(maxWriters),
    archived: Type.Optional(Type.Boolean({ description: 'true archives the project, false restores it.' })),
  },
  { ...CLOSED, minProperties: 1, title: 'ProjectPatch' },
)

const PROJECT_STATES = ['active', 'archived'] as const

export const projectDocument = Type.Object(
  {
    id: serviceId('proj', 'Derived from the key.'),
    key: Type.String({ description: 'Unique; never changes. Every `:id` of a project accepts the id or the key.' }),
    name: Type.String({ description: 'Display name.' }),
    repository: Type.Optional(Type.String({ description: 'Where its code lives.' })),
    max_writers: maxWriters,
    state: stringEnum(PROJECT_STATES, { description: 'An archived project accepts no new work.' }),
    created_at: time('When it was created.'),
    updated_at: Type.Optional(time('When it last changed.')),
    archived_at: Type.Optional(time('When it was archived.')),
    usage: Type.Optional(usageDocument),
  },
  { title: 'Project' },
)
export type Project = Static<typeof projectDocument>
