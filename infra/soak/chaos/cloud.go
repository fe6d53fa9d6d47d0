package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/local/cloud"
	"triad/infra/local/orders"
	"triad/infra/soak/audit"
	"triad/infra/soak/plan"
	"triad/shared/outlet"
	"triad/shared/queue"
	"triad/shared/remote"
	"triad/shared/task"
)

// visible is how long a queue hides a message that was received, in seconds: on
// AWS it is minutes, and what a process lost when it was killed comes again then.
const visible = 20

// cloudDelay is what a task may wait for, beside its steps: a message of a killed
// function, twice; a function that hangs until its timeout of a minute; and the
// Supervisor's schedule.
const cloudDelay = 2*visible*time.Second + 2*time.Minute

// Cloud is the functions in a local cloud of their own. Their emulator starts
// them again.
type Cloud struct {
	local    *cloud.Cloud
	out      io.Writer
	mail     *mail
	world    *orders.World
	inbox    *outlet.Inbox
	at       string // the URL of the queue of submissions
	redriven int
}

var _ Form = (*Cloud)(nil)

// NewCloud returns the form for a repository. Out gets progress.
func NewCloud(root string, out io.Writer) (*Cloud, error) {
	local, err := cloud.New(cloud.Config{
		Root: root, Stack: "triad-soak", Folder: "soak", Out: out,
		Parameters: map[string]string{"SchedulerConcurrency": "5", "AgentConcurrency": "5", "Shards": "4"},
	})
	if err != nil {
		return nil, err
	}
	return &Cloud{local: local, out: out}, local.Installed()
}

// Name implements Form.
func (c *Cloud) Name() string { return "cloud" }

// Answers implements Form: what comes by a queue has none.
func (c *Cloud) Answers() bool { return false }

// Services implements Form.
func (c *Cloud) Services() remote.Client { return remote.Client{BaseURL: c.local.Services()} }

// Delay implements Form.
func (c *Cloud) Delay() time.Duration { return cloudDelay }

// Count implements Form. The emulator starts processes, and does not tell.
func (c *Cloud) Count(r *Report) { r.Redriven, r.ToldAgain = c.redriven, c.mail.repeats() }

// Start implements Form.
func (c *Cloud) Start(ctx context.Context) error {
	if err := c.local.Down(ctx); err != nil { // what a soak that was killed left
		return err
	}
	if err := c.local.Up(ctx); err != nil {
		return err
	}
	if err := c.define(ctx); err != nil {
		return err
	}
	names := []string{queue.Submissions, queue.Scheduler}
	for _, service := range plan.Services() {
		names = append(names, queue.AgentQueue(service))
	}
	for _, name := range names {
		at, err := c.local.QueueURL(ctx, name)
		if err == nil {
			_, err = c.local.SQS().SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
				QueueUrl: &at, Attributes: map[string]string{"VisibilityTimeout": fmt.Sprint(visible)}})
		}
		if err != nil {
			return err
		}
	}
	outputs, err := c.local.Outputs(ctx)
	if err != nil {
		return err
	}
	c.inbox = outlet.NewInbox(outlet.InboxConfig{Queues: c.local.SQS(), Rejected: outputs["RejectedQueueUrl"], Topic: outputs["AlertsTopic"]})
	if c.at, err = c.local.QueueURL(ctx, queue.Submissions); err != nil {
		return err
	}
	if c.mail, err = fetch(ctx, c.local); err != nil {
		return err
	}
	return orders.Tick(ctx, c.local) // the schedule's first may be a minute away
}

// define gives the stack the workflows.
func (c *Cloud) define(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "triad-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := plan.Write(folder, false); err != nil {
		return err
	}
	_, err = c.local.Triad(ctx, "workflow", "apply", folder)
	return err
}

// Submit implements Form.
func (c *Cloud) Submit(ctx context.Context, o plan.One) (int, error) {
	body, err := o.Body()
	if err != nil {
		return 0, err
	}
	text := string(body)
	for range max(1, o.Kind.Times) {
		if _, err := c.local.SQS().SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &c.at, MessageBody: &text}); err != nil {
			return 0, fmt.Errorf("submitting %s: %w", o.ID, err)
		}
	}
	return 0, nil
}

// processes are those of the functions, by process id.
func (c *Cloud) processes() (map[int]string, error) {
	emulator, found, err := c.local.Emulator()
	if err != nil || !found || !emulator.Alive() {
		return nil, errors.Join(err, errors.New("the emulator does not run"))
	}
	all, err := emulator.Environment("AWS_LAMBDA_FUNCTION_NAME")
	maps.DeleteFunc(all, func(_ int, name string) bool { return !strings.HasPrefix(name, c.local.Stack()+"-") })
	return all, err
}

// Kill implements Form. One time in five it is every process of a function.
func (c *Cloud) Kill(_ context.Context, pick uint64) (n int, err error) {
	all, err := c.processes()
	if err != nil || len(all) == 0 {
		return 0, err
	}
	victim := choose(all, pick)
	for pid, name := range all {
		if pid == victim || pick%5 == 0 && name == all[victim] {
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				n++
			}
		}
	}
	return n, nil
}

// Freeze implements Form.
func (c *Cloud) Freeze(_ context.Context, pick uint64) (int, func(), error) {
	all, err := c.processes()
	if err != nil || len(all) == 0 {
		return 0, nil, err
	}
	victim := choose(all, pick)
	if syscall.Kill(victim, syscall.SIGSTOP) != nil {
		return 0, nil, nil // it has just ended
	}
	return 1, func() {
		if now, err := c.processes(); err == nil && now[victim] == all[victim] {
			_ = syscall.Kill(victim, syscall.SIGCONT) // or it has ended meanwhile
		}
	}, nil
}

// choose picks one.
func choose(all map[int]string, pick uint64) int {
	return slices.Sorted(maps.Keys(all))[pick/5%uint64(len(all))]
}

// Calm implements Form.
func (c *Cloud) Calm(ctx context.Context) (kills int, err error) { return 0, c.redrive(ctx) }

// redrive moves dead letters back, as an operator does: a message that was with
// five processes when they were killed has become one.
func (c *Cloud) redrive(ctx context.Context) error {
	depths, err := c.local.Queues(ctx)
	if err != nil {
		return err
	}
	for _, d := range depths {
		name, dead := strings.CutSuffix(strings.TrimPrefix(d.Name, c.local.Stack()+"-"), "-dead")
		if !dead || d.Visible == 0 {
			continue
		}
		if _, err := c.local.Triad(ctx, "redrive", name); err != nil {
			return err
		}
		c.redriven += d.Visible
	}
	return nil
}

// Unfinished implements Form. A message may be what tells of an end, or an order
// that has no task yet: what waits counts as well.
func (c *Cloud) Unfinished(ctx context.Context, accepted []audit.Order) (int, error) {
	if err := c.redrive(ctx); err != nil {
		return 0, err
	}
	states, err := c.states(ctx, accepted)
	if err != nil {
		return 0, err
	}
	return c.mail.missing(accepted, states)
}

// states is the state of each order, as the table has it.
func (c *Cloud) states(ctx context.Context, accepted []audit.Order) (map[task.ID]task.State, error) {
	if c.world == nil {
		ids := make([]task.ID, len(accepted))
		for i, o := range accepted {
			ids[i] = o.ID
		}
		var err error
		if c.world, err = orders.Open(ctx, c.local, ids); err != nil {
			return nil, err
		}
	}
	return c.world.States(ctx)
}

// Evidence implements Form.
func (c *Cloud) Evidence(ctx context.Context, accepted []audit.Order) (found audit.Evidence, err error) {
	found = audit.Evidence{Fates: map[task.ID]audit.Fate{}, ToldTwice: true}
	states, err := c.states(ctx, accepted)
	if err != nil {
		return found, err
	}
	for _, o := range accepted {
		state, there := states[o.ID]
		if !there {
			continue
		}
		fate := audit.Fate{State: state}
		if _, may := o.Ends[state]; !may {
			t, err := c.world.Load(ctx, o.ID)
			if err != nil {
				return found, err
			}
			fate.Reason = t.Reason
		}
		found.Fates[o.ID] = fate
	}
	if found.Notices, found.Alerts, err = c.mail.all(); err != nil {
		return found, err
	}
	return found, c.rejected(ctx, &found)
}

// rejected reads the captured messages and dismisses them, as an operator does
// who has looked at them.
func (c *Cloud) rejected(ctx context.Context, found *audit.Evidence) error {
	for after := int64(0); ; {
		page, err := c.inbox.Rejections(ctx, after, 100)
		for _, r := range page {
			found.Rejected = append(found.Rejected, string(r.Body))
			err = errors.Join(err, c.inbox.Dismiss(ctx, r.Seq))
			after = r.Seq
		}
		if err != nil || len(page) == 0 {
			return err
		}
	}
}

// Examine implements Form.
func (c *Cloud) Examine(ctx context.Context) ([]audit.Violation, error) {
	said, err := c.local.Triad(ctx, "doctor", "--full")
	if err != nil {
		return examined([]byte(said+err.Error()), err)
	}
	return nil, nil
}

// Stop implements Form. What is kept runs on, until the next soak.
func (c *Cloud) Stop(ctx context.Context, keep bool) error {
	if c.mail != nil {
		c.mail.stop()
	}
	if keep {
		_, err := fmt.Fprintf(c.out, "stack %s is left up at %s, with its logs in .local/cloud/soak; the next soak removes it\n", c.local.Stack(), c.local.Endpoint())
		return err
	}
	return c.local.Down(ctx)
}
