package function

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/shared/agent"
	"triad/shared/agent/httpagent"
	"triad/shared/outlet"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
	"triad/shared/settings"
	"triad/shared/store"
	"triad/shared/task"
	"triad/shared/trigger"
)

// Agents is the function of every agent that agents.yaml describes. The queue
// that a message came from says which agent it is for.
func Agents(env Environment) (trigger.Function, error) {
	f, err := Begin(env, settings.AgentHTTP, "agents-http")
	if err != nil {
		return nil, err
	}
	described, err := httpagent.Load(env.Workflows, env.Lookup)
	if err != nil {
		return nil, err
	}
	made, to := map[string]*agent.Agent{}, f.agentOutlets()
	for _, name := range f.Settings.Agents {
		c, found := described[name]
		if !found {
			continue // it has a function of its own
		}
		c.Logger, c.Counters = f.Logger, f.counters
		service, err := httpagent.New(c)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", name, err)
		}
		if made[name], err = f.agent(agent.Config{Name: name, Work: service.Call, Retry: c.Retry}, to); err != nil {
			return nil, err
		}
	}
	return f.agents(made), nil
}

// Agent is the function of one agent that is written in Go.
func Agent(env Environment, name string, work agent.Func) (trigger.Function, error) {
	f, err := Begin(env, settings.AgentGo, "agents-"+name)
	if err != nil {
		return nil, err
	}
	a, err := f.agent(agent.Config{Name: name, Work: work}, f.agentOutlets())
	if err != nil {
		return nil, err
	}
	return f.agents(map[string]*agent.Agent{name: a}), nil
}

// agentOutlets is where agents speak to.
type agentOutlets struct {
	replies  agent.Sender
	rejected *outlet.Outlet
}

func (f *Function) agentOutlets() agentOutlets {
	client := sqs.NewFromConfig(f.AWS())
	return agentOutlets{
		replies:  &sqsqueue.Batcher{To: sqsqueue.New(client, f.Settings.SchedulerQueue, sqsqueue.Config{})},
		rejected: outlet.New(outlet.Config{Queues: client, Rejected: f.Settings.Queue("rejected")}),
	}
}

func (f *Function) agent(c agent.Config, to agentOutlets) (*agent.Agent, error) {
	name := c.Name
	c.Replies, c.Logger, c.Counters = to.replies, f.Logger, f.counters
	c.Rejected = func(ctx context.Context, body []byte, reason string) error {
		return to.rejected.Reject(ctx, store.Rejected{
			Queue: queue.AgentQueue(name), Body: body, Reason: reason, At: task.At(to.rejected.Clock()),
		})
	}
	a, err := agent.New(c)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	return a, nil
}

// agents is the function over the queues of some agents.
func (f *Function) agents(all map[string]*agent.Agent) trigger.Function {
	byQueue := map[string]*agent.Agent{}
	for name, a := range all {
		byQueue[f.Settings.Stack+"-"+queue.AgentQueue(name)] = a
	}
	return f.Behind(func(ctx context.Context, m trigger.Message) error {
		a, found := byQueue[m.Queue]
		if !found {
			return errors.New("this function has no agent for the queue " + m.Queue + ": template.yaml should not send it here")
		}
		return a.Handle(ctx, m.Delivery)
	}, nil)
}
