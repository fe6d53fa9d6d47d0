package memstore

import "triad/shared/task"

// Damage makes the record of a task unreadable.
func (s *Store) Damage(id task.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[id].record = []byte("{")
}
