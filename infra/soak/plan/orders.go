package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"triad/infra/soak/audit"
	"triad/shared/remote"
	"triad/shared/task"
)

// Kind is a kind of order: what is submitted, what is done with it, and how it
// may end.
type Kind struct {
	Name string
	// Weight is how often it comes, beside the others.
	Weight   int
	Workflow string
	// Queue is the response queue that it names.
	Queue string
	// Order is the payload, JSON.
	Order string
	// Ends are as in audit.Order.
	Ends map[task.State][]string
	// Times is how often it is submitted, at least once.
	Times int
	// Other: it is submitted once more with other content, and that is refused.
	// Cancel: it is cancelled as soon as it was accepted. Both need an answer to
	// a submission.
	Other, Cancel bool
	// Unreadable: it is no order, and must be captured.
	Unreadable bool
}

// One is one order of a kind.
type One struct {
	audit.Order
	Kind *Kind
}

const (
	paid = `{"customer": "Ada", "items": [{"sku": "teapot", "quantity": 1}], "total": 24.9}`
	free = `{"customer": "Grace", "items": [{"sku": "leaflet", "quantity": 1}], "total": 0}`
)

// kinds are all kinds of orders. What happens to them goes by their names: see
// Always.
func kinds() []Kind {
	goods := []string{"inventory", "payment", "shipping", "notification"}
	ends := func(s task.State, holds ...string) map[task.State][]string { return map[task.State][]string{s: holds} }
	return []Kind{
		{Name: "happy", Weight: 40, Workflow: "soak-order", Queue: "shop", Order: paid, Ends: ends(task.Processed, goods...)},
		{Name: "free", Weight: 8, Workflow: "soak-order", Order: free, Ends: ends(task.Processed, "inventory", "shipping", "notification")},
		{Name: "declined", Weight: 10, Workflow: "soak-order", Queue: "shop", Order: paid, Ends: ends(task.Compensated)},
		{Name: "cursed", Weight: 5, Workflow: "soak-stubborn", Queue: "shop", Order: paid, Ends: ends(task.Compensated)},
		{Name: "unreachable", Weight: 4, Workflow: "soak-order", Queue: "shop", Order: paid,
			Ends: ends(task.Error, "inventory", "payment", "shipping")},
		{Name: "parcel", Weight: 14, Workflow: "soak-delivery", Queue: "fleet", Order: `{"weightKg": 2.5}`,
			Ends: ends(task.Processed, "packages", "drones", "deliveries")},
		{Name: "crate", Weight: 8, Workflow: "soak-delivery", Queue: "fleet", Order: `{"weightKg": 42}`,
			Ends: ends(task.Processed, "packages", "transports", "deliveries")},
		{Name: "again", Weight: 5, Workflow: "soak-order", Queue: "shop", Order: paid, Ends: ends(task.Processed, goods...), Times: 3},
		{Name: "unreadable", Weight: 1, Unreadable: true},
		{Name: "other", Weight: 3, Workflow: "soak-order", Queue: "shop", Order: paid, Ends: ends(task.Processed, goods...), Other: true},
		{Name: "cancelled", Weight: 6, Workflow: "soak-delivery", Queue: "fleet", Order: `{"weightKg": 7}`, Cancel: true,
			Ends: map[task.State][]string{task.Cancelled: nil, task.Compensated: nil, task.Processed: {"packages", "drones", "deliveries"}}},
	}
}

// Orders deals out orders, the same for the same seed. It is not safe for
// concurrent use.
type Orders struct {
	rng   *rand.Rand
	kinds []Kind
	total int
	n     int
}

// NewOrders begins. answered: a submission has an answer, so that the kinds that
// need one are among them.
func NewOrders(seed uint64, answered bool) *Orders {
	o := &Orders{rng: rand.New(rand.NewPCG(seed, 1))}
	for _, k := range kinds() {
		if answered || !k.Other && !k.Cancel {
			o.kinds = append(o.kinds, k)
			o.total += k.Weight
		}
	}
	return o
}

// Next is the next order.
func (o *Orders) Next() One {
	o.n++
	pick := o.rng.IntN(o.total)
	k := &o.kinds[0]
	for i := range o.kinds {
		k = &o.kinds[i]
		if pick -= k.Weight; pick < 0 {
			break
		}
	}
	id := task.ID(fmt.Sprintf("%s-%d", k.Name, o.n))
	return One{Order: audit.Order{ID: id, Queue: k.Queue, Ends: k.Ends}, Kind: k}
}

// Body is the submission's JSON, or what is sent in its place.
func (o One) Body() ([]byte, error) {
	if o.Kind.Unreadable {
		return []byte(`{"id": "` + string(o.ID) + `", "workflow": "soak-order", "order": {`), nil
	}
	return o.submission(o.Kind.Order)
}

// OtherBody is a submission under the same id, with other content.
func (o One) OtherBody() ([]byte, error) {
	return o.submission(strings.Replace(o.Kind.Order, "24.9", "2490", 1))
}

func (o One) submission(order string) ([]byte, error) {
	return json.Marshal(task.Submission{ID: o.ID, Workflow: o.Kind.Workflow, ResponseQueue: o.Kind.Queue, Order: json.RawMessage(order)})
}

// Always are the faults of a service that are on all the time: those that decide
// how a kind of order ends, and few others.
func Always(service string) []remote.Rule {
	var rules []remote.Rule
	switch service {
	case "payment":
		rules = []remote.Rule{{Match: "declined-*", Method: "PUT", Refuse: true}, {Match: "cursed-*", Method: "PUT", Status: 503}}
	case "notification":
		rules = []remote.Rule{{Match: "unreachable-*", Method: "PUT", Refuse: true}}
	}
	return append(rules, remote.Rule{Share: 0.02, Status: 503}, remote.Rule{Share: 0.02, Status: 503, ApplyFirst: true})
}
