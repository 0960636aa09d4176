/** Which fields of a payload Watch filters by, for the service and for clients that filter what they are told. */

/** Only strings count. The other fields of filters are the envelope's. */
export const PAYLOAD_FIELDS = ['item_id', 'session_id', 'campaign', 'initiative'] as const
