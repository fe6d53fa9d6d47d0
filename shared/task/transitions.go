package task

// Cause says why a transition is made; two causes can lead to one state.
type Cause string
