package trigger

import (
	"context"
	"log/slog"
	"sync"
)

// batch is the messages of one invocation and what became of them. Handlers that
// were left behind may still touch it when the invocation is over.
type batch struct {
	*Messages
	messages []Message
	log      *slog.Logger

	mu   sync.Mutex
	done []bool // by index: its handler returned nil
}

// run handles messages and returns the ids of those that failed, in the order of
// the batch, each once.
func (m *Messages) run(ctx context.Context, messages []Message) []string {
	b := &batch{Messages: m, messages: messages, log: m.logger(ctx), done: make([]bool, len(messages))}
	if !m.within(ctx, b.handleAll) {
		b.log.Warn("handlers did not end in time: their messages will come again", "unfinished", len(b.failures()))
	}
	return b.failures()
}

func (b *batch) failures() (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := map[string]bool{}
	for i, m := range b.messages {
		if !b.done[i] && !told[m.id] {
			ids = append(ids, m.id)
			told[m.id] = true
		}
	}
	return ids
}

func (b *batch) handleAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, chain := range b.chains() {
		all.Go(func() { b.handleChain(ctx, chain) })
	}
	all.Wait()
}

// chains sorts the messages, by index: those of one key in order, or one without
// a key.
func (b *batch) chains() (chains [][]int) {
	byKey := map[string]int{} // the key's chain
	for i, m := range b.messages {
		key, ok := b.keyOf(m)
		if !ok {
			continue
		}
		at, known := byKey[key]
		if key == "" || !known {
			at = len(chains)
			byKey[key] = at
			chains = append(chains, nil)
		}
		chains[at] = append(chains[at], i)
	}
	return chains
}

// keyOf is a message's key, and false when finding it failed: the message can't
// be handled then, and the others can.
func (b *batch) keyOf(m Message) (key string, ok bool) {
	if b.key == nil {
		return "", true
	}
	err := caught(b.log, func() error {
		key = b.key(m.Body)
		return nil
	})
	if err != nil {
		b.notHandled(m, err)
	}
	return key, err == nil
}

// handleChain handles messages one after the other until one fails or the time
// is over. If we stop here, what is not marked as done comes again.
func (b *batch) handleChain(ctx context.Context, chain []int) {
	for n, i := range chain {
		m, behind := b.messages[i], len(chain)-n-1
		if ctx.Err() != nil {
			b.log.Warn("messages not begun: the time is over", "queue", m.Queue, "message", m.id, "behind", behind)
			return
		}
		if err := caught(b.log, func() error { return b.handle(ctx, m) }); err != nil {
			b.notHandled(m, err)
			if behind > 0 {
				b.log.Warn("messages not begun: one before them of their key failed", "queue", m.Queue, "message", m.id, "behind", behind)
			}
			return
		}
		b.mu.Lock()
		b.done[i] = true
		b.mu.Unlock()
	}
}

func (b *batch) notHandled(m Message, err error) {
	b.log.Warn("message not handled", "error", err, "queue", m.Queue, "message", m.id, "receives", m.Receives)
}
