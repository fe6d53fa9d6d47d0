package stack

import (
	"context"

	"triad/shared/doctor"
	"triad/shared/store/dynamostore"
)

// doctor examines the stack. It walks by every record of the table, a scan, only
// when a full examination is asked for.
func (s *Stack) doctor() *doctor.Doctor {
	c := s.cloud.Doctor(doctor.Bounds{Walked: -1})
	c.Walker = dynamostore.NewWalker(s.tables, dynamostore.Config{
		Tasks: s.cloud.Settings.TasksTable, Orders: s.cloud.Settings.OrdersTable, Shards: s.cloud.Settings.Shards, Keep: s.cloud.Settings.Keep,
	})
	c.DeadLetters = s.waiting
	return doctor.New(c)
}

// waiting counts the messages that wait for an operator: dead letters and
// rejected ones.
func (s *Stack) waiting(ctx context.Context) (map[string]int, error) {
	dead, err := s.Dead(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]int{}
	for _, d := range dead {
		all[d.Queue+"-dead"] = d.Dead
	}
	rejected, err := s.queue("rejected").Depth(ctx)
	all["rejected"] = rejected.Total()
	return all, err
}
