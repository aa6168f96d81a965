// What Indigo's kernels have in the place of Indigo's own main(), which reads a graph from a file: a graph on which each of their planted bugs is reached.
// Its size is given behind `--`: VERTICES BLOCKS THREADS.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using std::max;
using std::min;

__global__ void test_kernel(int* nindex, int* nlist, data_t* data1, data_t* data2, int numv);
void serial_code(int* nindex, int* nlist, data_t* data1, data_t* data2, int numv);
int verify_result(int* nindex, int* nlist, data_t* h_data1, data_t* h_data2, data_t* d_data1, data_t* d_data2, int numv,
                  int nume, int blocks, int threadsperblock);

struct indigo_graph {
  std::vector<int> index;
  std::vector<int> neighbors;
};

// A ring in which each vertex has the three before it and the three behind it for neighbors. Every second vertex has them in falling order: a kernel that
// looks at the first or the last one alone finds both smaller and greater ones. With 16 vertices and more the first and the last one have none: a kernel
// that looks at one without asking whether there are any reads before or behind the list.
inline indigo_graph indigo_ring(int vertices) {
  const int alone = vertices >= 16 ? 1 : 0;
  const int ring = vertices - 2 * alone;
  indigo_graph graph;
  for (int vertex = 0; vertex < vertices; ++vertex) {
    const int begin = static_cast<int>(graph.neighbors.size());
    graph.index.push_back(begin);
    if (vertex < alone || vertex >= vertices - alone) {
      continue;
    }
    for (int other = alone; other < vertices - alone; ++other) {
      const int distance = (other - vertex + ring) % ring;
      if (other != vertex && (distance <= 3 || ring - distance <= 3)) {
        graph.neighbors.push_back(other);
      }
    }
    if (vertex % 2 == 1) {
      std::reverse(graph.neighbors.begin() + begin, graph.neighbors.end());
    }
  }
  graph.index.push_back(static_cast<int>(graph.neighbors.size()));
  return graph;
}

template <typename T>
T* indigo_on_device(const std::vector<T>& values) {
  T* memory = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&memory), values.size() * sizeof(T));
  cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return memory;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "give the size behind --: VERTICES BLOCKS THREADS\n");
    return 2;
  }
  const int vertices = std::atoi(argv[1]);
  const int blocks = std::atoi(argv[2]);
  const int threads = std::atoi(argv[3]);
  indigo_graph graph = indigo_ring(vertices);
  const int edges = static_cast<int>(graph.neighbors.size());
  std::vector<data_t> data1(std::max(vertices, edges));
  std::vector<data_t> data2(data1.size());
  for (int i = 1; i < static_cast<int>(data1.size()); ++i) {
    data1[i] = i / 2;  // of its own index a path to 0
    data2[i] = (i * 5 + 1) % edges;
  }
  std::vector<data_t> expected1 = data1;
  std::vector<data_t> expected2 = data2;

  int* device_index = indigo_on_device(graph.index);
  int* device_neighbors = indigo_on_device(graph.neighbors);
  data_t* device1 = indigo_on_device(data1);
  data_t* device2 = indigo_on_device(data2);
  test_kernel<<<blocks, threads>>>(device_index, device_neighbors, device1, device2, vertices);
  cudaMemcpy(data1.data(), device1, data1.size() * sizeof(data_t), cudaMemcpyDeviceToHost);
  cudaMemcpy(data2.data(), device2, data2.size() * sizeof(data_t), cudaMemcpyDeviceToHost);
  serial_code(graph.index.data(), graph.neighbors.data(), expected1.data(), expected2.data(), vertices);
  const int right = verify_result(graph.index.data(), graph.neighbors.data(), expected1.data(), expected2.data(),
                                  data1.data(), data2.data(), vertices, edges, blocks, threads);
  cudaFree(device_index);
  cudaFree(device_neighbors);
  cudaFree(device1);
  cudaFree(device2);
  return right == 1 ? 0 : 1;
}
