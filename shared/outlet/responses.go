package outlet

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"triad/shared/task"
)

// Responses are the response queues of a deployment: the name that submissions
// give in responseQueue -> the queue's URL. It is the list of the only queues
// that notices are sent to.
type Responses map[string]string

// Check returns nil when there is a response queue of this name, and otherwise an
// error that names those that there are.
func (r Responses) Check(name string) error {
	if _, known := r[name]; known {
		return nil
	}
	if len(r) == 0 {
		return fmt.Errorf("this deployment has no response queue %q: it has none at all", name)
	}
	return fmt.Errorf("this deployment has no response queue %q: there are %s", name, strings.Join(slices.Sorted(maps.Keys(r)), ", "))
}

// ParseResponses gives the response queues of a list of ARNs. A queue's name is
// the one in its ARN without a leading "STACK-"; its URL has the host of the URL
// of the scheduler queue, and the account of its ARN. Empty entries are skipped.
//
// The error joins what is wrong with each: an ARN that names no queue, a queue in
// another region than the scheduler queue, a FIFO queue, a queue of the stack
// itself, a name that no submission can give, and a name that is there twice. The
// region is not checked where the scheduler queue's URL does not tell it, as
// outside of AWS.
func ParseResponses(arns []string, scheduler, stack string) (Responses, error) {
	base, err := url.Parse(scheduler)
	if err != nil || base.Host == "" {
		return nil, fmt.Errorf("URL of the scheduler queue %q: it must be like https://sqs.REGION.amazonaws.com/ACCOUNT/NAME", scheduler)
	}
	all, from, errs := Responses{}, map[string]string{}, []error(nil)
	for _, arn := range arns {
		if arn = strings.TrimSpace(arn); arn == "" {
			continue
		}
		name, address, err := parseResponse(arn, base, stack)
		if err == nil && from[name] != "" {
			err = fmt.Errorf("its name %s is that of %s already: names must differ without the leading %q", name, from[name], stack+"-")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("response queue %s: %w", arn, err))
			continue
		}
		all[name], from[name] = address, arn
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return all, nil
}

var (
	queueARN = regexp.MustCompile(`^arn:aws[a-z-]*:sqs:([a-z0-9-]+):([0-9]+):([A-Za-z0-9_-]{1,80}(?:\.fifo)?)$`)
	// awsHost is a host of SQS: in its present form, or in its old one.
	awsHost = regexp.MustCompile(`^(?:sqs(?:-fips)?\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.(?:amazonaws\.com|amazonaws\.com\.cn|api\.aws)$`)
	// ownQueue is what follows "STACK-" in the names of Triad's own queues.
	ownQueue = regexp.MustCompile(`^(?:submissions|scheduler|ticks|rejected|agent-.*|.*-dead)$`)
)

// parseResponse gives the name and the URL of one queue.
func parseResponse(arn string, base *url.URL, stack string) (name, address string, err error) {
	m := queueARN.FindStringSubmatch(arn)
	if m == nil {
		return "", "", errors.New("this is no ARN of a queue: it must be like arn:aws:sqs:REGION:ACCOUNT:NAME")
	}
	region, account, full := m[1], m[2], m[3]
	name, own := strings.CutPrefix(full, stack+"-")
	here := ""
	if host := awsHost.FindStringSubmatch(base.Hostname()); host != nil {
		here = host[1] + host[2]
	}
	switch {
	case here != "" && region != here:
		return "", "", fmt.Errorf("it is in the region %s, Triad is in %s: name a queue of %s", region, here, here)
	case strings.HasSuffix(full, ".fifo"):
		return "", "", errors.New("it is a FIFO queue: name a standard queue")
	case own && ownQueue.MatchString(name):
		return "", "", errors.New("it is a queue of Triad itself: name one of the application's")
	}
	if err := task.ValidateID(task.ID(name)); err != nil {
		return "", "", fmt.Errorf("submissions can't name it: %w", err)
	}
	return name, (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: "/" + account + "/" + full}).String(), nil
}
