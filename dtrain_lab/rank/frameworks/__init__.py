"""Support in a rank for Accelerate, Lightning and ignite, and for TensorFlow and MindSpore."""
