/**
 * `/asyncapi.json`: the event stream and every type of event in it as AsyncAPI 3, built from the schemas that the code
 * uses.
 */
import { recordedEventSchema } from '../../machines/events/envelope.ts'
import { catalogue } from '../../machines/events/index.ts'
import { WATCH_PROTOCOL } from '../watch/socket.ts'
import { frameSchema, frameSchemas, watchQuery } from '../watch/watch.ts'
import { Components } from './schemas.ts'

export function asyncApiDocument(version: string): Record<string, unknown> {
  const components = new Components()
  const messages: Record<string, object> = {}
  for (const [name, schema] of Object.entries(frameSchemas)) {
    messages[name] = { name, contentType: 'application/json', payload: components.refer(schema) }
  }
  components.refer(frameSchema)
  for (const [type, { payload, meaning }] of catalogue)
    components.schemas[type] = eventSchema(components, type, meaning, payload)
  components.schemas.KnownEvent = {
    description:
      'An event of a known type, distinguished by `event_type`, as stated by the service itself, emitters and runners. The log may hold ' +
      'others: of newer engines, or ingested, imported or recorded by an earlier version; see `ServedEvent`.',
    oneOf: [...catalogue.keys()].map((type) => ({ $ref: `#/components/schemas/${type}` })),
  }
  components.schemas.ServedEvent = {
    description:
      'Any event that is served. Events from other logs are accepted if their envelope is valid, even if their type is unknown or their ' +
      'payload does not match their type.',
    anyOf: [{ $ref: '#/components/schemas/KnownEvent' }, { $ref: '#/components/schemas/Event' }],
  }
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Intendant: Watch',
      version,
      description: 'Every event exactly once, in order, from any point of the log.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    channels: {
      watch: {
        address: '/api/watch',
        description: `A WebSocket, or server-sent events with \`Accept: text/event-stream\`. Browsers authenticate with the subprotocols \`${WATCH_PROTOCOL}, bearer.<token>\`.`,
        messages: Object.fromEntries(
          Object.keys(messages).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: { ws: { method: 'GET', query: components.refer(watchQuery), bindingVersion: '0.1.0' } },
      },
    },
    operations: {
      watch: {
        action: 'send',
        channel: { $ref: '#/channels/watch' },
        security: [{ $ref: '#/components/securitySchemes/token' }],
        summary: 'The service sends frames: first `hello`, then `events` and `bookmark`, and `error` at the end.',
        messages: Object.keys(messages).map((name) => ({ $ref: `#/channels/watch/messages/${name}` })),
      },
    },
    components: {
      messages,
      schemas: components.schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'A token issued by the service.' } },
    },
  }
}

/** The schema of events of one type: the common envelope with the type's payload. */
function eventSchema(
  components: Components,
  type: string,
  description: string,
  payload: unknown,
): Record<string, unknown> {
  return {
    description,
    allOf: [
      components.refer(recordedEventSchema),
      { type: 'object', properties: { event_type: { const: type }, payload: components.refer(payload) } },
    ],
  }
}
