package consumer_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"triad/shared/consumer"
	"triad/shared/queue"
)

// keyed makes the letter before the number the key: a1, a2; "-" is no key.
var keyed = consumer.Config{Key: func(body []byte) string { return strings.Trim(string(body), "-0123456789") }}

func TestMessagesOfOneKeyAreHandledInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{
			config: keyed,
			hold:   []string{"a1", "a2", "b1"},
			send:   strings.Fields("a1 b1 -1 a2 c1 b2 -2 a3 c2"),
		})
		equal(t, "at first", r.lines(),
			"begin -1, begin -2, begin a1, begin b1, begin c1, begin c2, end -1, end -2, end c1, end c2")
		r.letGo("a1")
		equal(t, "then", r.lines(), "begin a2, end a1")
		r.letGo("b1")
		equal(t, "then", r.lines(), "begin b2, end b1, end b2")
		r.letGo("a2")
		equal(t, "at last", r.lines(), "begin a3, end a2, end a3")
		equal(t, "depth", r.depth(), queue.Depth{})
		r.endWell()
	})
}

func TestChainTakesOneSlot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		config := keyed
		config.Concurrency = 5
		r := start(t, options{
			config: config,
			hold:   []string{"a1"},
			send:   strings.Fields("a1 a2 a3 a4 a5 b1 c1 d1"),
		})
		equal(t, "log", r.lines(), "begin a1, begin b1, begin c1, begin d1, end b1, end c1, end d1")
		r.letGo("a1")
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 8})
		r.endWell()
	})
}

func TestFailedMessageDoesNotStopThoseBehindIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{
			config: keyed,
			fail:   map[string]int{"a1": 1},
			send:   strings.Fields("a1 a2"),
		})
		synctest.Wait()
		equal(t, "log", r.lines(), "begin a1, begin a2, end a1, end a2")
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 1, Failed: 1})
		r.endWell()
	})
}

func TestPauseReleasesWhatHasNotBegun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{config: keyed, hold: []string{"a1"}, send: strings.Fields("a1 a2 a3")})
		r.Pause()
		r.letGo("a1")
		equal(t, "log", r.lines(), "begin a1, end a1")
		equal(t, "depth", r.depth(), queue.Depth{Visible: 2})
		r.Resume()
		synctest.Wait()
		equal(t, "log", r.lines(), "begin a2, begin a3, end a2, end a3")
		r.endWell()
	})
}
