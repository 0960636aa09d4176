/** What a project means: its intent, what was inferred about it, and the briefs for runs. */
import { BRIEF_ACTIONS, HYPOTHESIS_ACTIONS, RECORD_ACTIONS } from '../actions/meaning.ts'
import { age, at, byId, cell, eachState, type Kind, link, ofProject, state, wide } from './kind.tsx'

export const briefs: Kind = {
  one: 'Formation brief',
  many: 'Formation briefs',
  list: ofProject('formation-briefs'),
  isPerProject: true,
  filters: eachState(
    'draft',
    'reviewable',
    'approved',
    'compiled',
    'queued',
    'accepted',
    'executing',
    'completed',
    'analyzed',
    'archived',
  ),
  path: at('formation-briefs'),
  idOf: byId,
  titleOf: ({ title, mission }) => title ?? mission.objective,
  columns: [
    link('Brief', byId),
    state(),
    wide('What', ({ title, mission }) => title ?? mission.objective),
    cell('Throttle', ({ throttle }) => throttle),
    age('Age', ({ created_at }) => created_at),
  ],
  actions: BRIEF_ACTIONS,
  without: ['title', 'state'],
}

export const intent: Kind = {
  one: 'Intent record',
  many: 'Intent records',
  list: ofProject('intent-records'),
  isPerProject: true,
  filters: eachState('hypothesized', 'proposed', 'accepted', 'active', 'deprecated', 'contradicted', 'superseded'),
  path: at('intent-records'),
  idOf: byId,
  titleOf: ({ title }) => title,
  columns: [
    link('Record', byId),
    state(),
    cell('Slug', ({ slug }) => slug),
    wide('Title', ({ title }) => title),
    cell('Confidence', ({ confidence }) => String(confidence)),
    age('For', ({ state_at }) => state_at),
  ],
  actions: RECORD_ACTIONS,
  without: ['title', 'state', 'reason'],
}

export const hypotheses: Kind = {
  one: 'Hypothesis',
  many: 'Hypotheses',
  list: ofProject('hypotheses'),
  isPerProject: true,
  filters: eachState('open', 'accepted', 'rejected'),
  path: at('hypotheses'),
  idOf: byId,
  titleOf: ({ title, key }) => title ?? key,
  columns: [
    link('Hypothesis', byId),
    state(),
    wide('Title', ({ title, key }) => title ?? key),
    cell('Confidence', ({ confidence }) => String(confidence)),
    cell('Seen', ({ sightings }) => String(sightings)),
    age('Age', ({ created_at }) => created_at),
  ],
  actions: HYPOTHESIS_ACTIONS,
  without: ['title', 'state', 'reason'],
}

export const discoveries: Kind = {
  one: 'Discovery',
  many: 'Discoveries',
  list: ofProject('discoveries'),
  isPerProject: true,
  path: at('discoveries'),
  idOf: byId,
  titleOf: byId,
  columns: [link('Discovery', byId), age('Age', ({ created_at }) => created_at)],
}

export const projects: Kind = {
  one: 'Project',
  many: 'Projects',
  list: () => 'api/projects',
  isGlobal: true,
  filters: eachState('active', 'archived'),
  path: at('projects'),
  idOf: ({ key }) => key,
  titleOf: ({ name }) => name,
  columns: [
    link('Project', ({ key }) => key, 'project'),
    state(),
    wide('Name', ({ name }) => name),
    wide('Repository', ({ repository }) => repository),
    age('Age', ({ created_at }) => created_at),
  ],
  history: ({ key }) => ({ project: key }),
  without: ['name', 'state'],
}
