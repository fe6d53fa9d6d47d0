package enginetest

// Order is the reference workflow: five steps in sequence.
const Order = `
workflow: order
version: 1
completeWithin: 24h
onExhausted: compensate
input: order.json
steps:
  reserve:
    agent: inventory
    completeWithin: 10s
    undo: {completeWithin: 10s}
  charge:
    agent: payment
    completeWithin: 10s
    undo: {completeWithin: 10s}
  pack: {agent: warehouse, completeWithin: 10s}
  ship:
    agent: shipping
    completeWithin: 10s
    undo: {completeWithin: 10s}
  notify: {agent: notification, completeWithin: 10s, onExhausted: error}
`

// Schema is the schema of Order's orders: an object with a total, and nothing
// else but a note.
const Schema = `{
  "type": "object",
  "required": ["total"],
  "additionalProperties": false,
  "properties": {"total": {"type": "number", "minimum": 0}, "note": {"type": "string"}}
}`

// Keys are the idempotency keys that an order o-1 of workflow Order has.
func Keys() []string {
	return []string{"o-1/charge", "o-1/notify", "o-1/pack", "o-1/reserve", "o-1/ship"}
}
